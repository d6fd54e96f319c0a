-- What the first Landfast left in its tables: an event in each state that it knew, and a row in each table.
INSERT INTO landfast.identity (event_id, received_at)
VALUES
    ('\x2a829232f025b4fe86b59d87d684c762', '2026-03-02 09:30:00.123456+00'),
    ('\x844f7ce1fca848bbc7fe5efa0bff8b96', '2026-03-02 09:30:01.123456+00'),
    ('\x14d77ecfb294afe4341b2a914a4743bb', '2026-03-02 09:30:02.123456+00'),
    ('\x4feada6c4288f0c5c3ae381ebf16bdce', '2026-03-02 09:30:03.123456+00'),
    ('\x88951f4f98d8a876fc634c63b881b225', '2026-03-02 09:30:04.123456+00'),
    ('\xaabec5389bb1699a3b15c406e60c8b5f', '2026-03-02 09:30:05.123456+00');
INSERT INTO landfast.body (received_at, event_id, source, key, type, entity, occurred_at, headers, body)
VALUES
    ('2026-03-02 09:30:00.123456+00', '\x2a829232f025b4fe86b59d87d684c762', 'shop', 'evt_0000', 'order.created', NULL, NULL, '\x5b5b22636f6e74656e742d74797065222c226170706c69636174696f6e2f6a736f6e225d5d', '\x7b226964223a226576745f30303030227d'),
    ('2026-03-02 09:30:01.123456+00', '\x844f7ce1fca848bbc7fe5efa0bff8b96', 'shop', 'evt_0001', 'order.created', NULL, NULL, '\x5b5b22636f6e74656e742d74797065222c226170706c69636174696f6e2f6a736f6e225d5d', '\x7b226964223a226576745f30303031227d'),
    ('2026-03-02 09:30:02.123456+00', '\x14d77ecfb294afe4341b2a914a4743bb', 'shop', 'evt_0002', 'order.created', NULL, NULL, '\x5b5b22636f6e74656e742d74797065222c226170706c69636174696f6e2f6a736f6e225d5d', '\x7b226964223a226576745f30303032227d'),
    ('2026-03-02 09:30:03.123456+00', '\x4feada6c4288f0c5c3ae381ebf16bdce', 'shop', 'evt_0003', 'order.created', NULL, NULL, '\x5b5b22636f6e74656e742d74797065222c226170706c69636174696f6e2f6a736f6e225d5d', '\x7b226964223a226576745f30303033227d'),
    ('2026-03-02 09:30:04.123456+00', '\x88951f4f98d8a876fc634c63b881b225', 'shop', 'evt_0004', 'order.created', NULL, NULL, '\x5b5b22636f6e74656e742d74797065222c226170706c69636174696f6e2f6a736f6e225d5d', '\x7b226964223a226576745f30303034227d'),
    ('2026-03-02 09:30:05.123456+00', '\xaabec5389bb1699a3b15c406e60c8b5f', 'shop', 'evt_0005', 'order.created', NULL, NULL, '\x5b5b22636f6e74656e742d74797065222c226170706c69636174696f6e2f6a736f6e225d5d', '\x7b226964223a226576745f30303035227d');
INSERT INTO landfast.work (seq, event_id, received_at, source, lane, type, run, forced, suspect, crashes, tries,
    token, leased_until) OVERRIDING SYSTEM VALUE
VALUES
    ('5', '\x88951f4f98d8a876fc634c63b881b225', '2026-03-02 09:30:04.123456+00', 'shop', NULL, 'order.created', '1', 'false', 'false', '0', '\x7b7d', '\x776f726b65722d310000000000000004', '2026-03-02 09:31:00+00'),
    ('6', '\xaabec5389bb1699a3b15c406e60c8b5f', '2026-03-02 09:30:05.123456+00', 'shop', NULL, 'order.created', '1', 'false', 'false', '0', '\x7b7d', NULL, NULL);
INSERT INTO landfast.shelf (event_id, state, due_at, run, forced, suspect, crashes, tries, handler, reason, error,
    message, received_at, source, lane, type)
VALUES
    ('\x844f7ce1fca848bbc7fe5efa0bff8b96', 'dead', NULL, '1', 'false', 'false', '0', '\x7b7d', 'create_order', 'permanent', 'IntegrityError', 'duplicate order', '2026-03-02 09:30:01.123456+00', 'shop', NULL, 'order.created'),
    ('\x14d77ecfb294afe4341b2a914a4743bb', 'unhandled', NULL, '1', 'false', 'false', '0', '\x7b7d', '', '', '', '', '2026-03-02 09:30:02.123456+00', 'shop', NULL, 'order.created'),
    ('\x4feada6c4288f0c5c3ae381ebf16bdce', 'delayed', '2026-03-02 09:31:00+00', '1', 'false', 'false', '0', '\x7b7d', 'create_order', 'permanent', 'IntegrityError', 'duplicate order', '2026-03-02 09:30:03.123456+00', 'shop', NULL, 'order.created');
INSERT INTO landfast.history (received_at, event_id, seq, at, run, forced, signal, state, attempts, reason, who)
VALUES
    ('2026-03-02 09:30:00.123456+00', '\x2a829232f025b4fe86b59d87d684c762', '1', '2026-03-02 09:31:00+00', '1', 'false', 'finish', 'done', '\x5b5d', '', ''),
    ('2026-03-02 09:30:01.123456+00', '\x844f7ce1fca848bbc7fe5efa0bff8b96', '2', '2026-03-02 09:31:00+00', '1', 'false', 'bury', 'dead', '\x5b7b2268616e646c6572223a226372656174655f6f72646572222c226e756d626572223a312c226f7574636f6d65223a2262757279222c226d696c6c697365636f6e6473223a31322e352c226572726f72223a22496e746567726974794572726f72222c226d657373616765223a226475706c6963617465206f72646572222c227472616365223a2254726163656261636b202e2e2e227d5d', 'permanent', ''),
    ('2026-03-02 09:30:02.123456+00', '\x14d77ecfb294afe4341b2a914a4743bb', '3', '2026-03-02 09:31:00+00', '1', 'false', 'shelve', 'unhandled', '\x5b5d', '', ''),
    ('2026-03-02 09:30:03.123456+00', '\x4feada6c4288f0c5c3ae381ebf16bdce', '4', '2026-03-02 09:31:00+00', '1', 'false', 'retry', 'delayed', '\x5b7b2268616e646c6572223a226372656174655f6f72646572222c226e756d626572223a312c226f7574636f6d65223a227265747279222c226d696c6c697365636f6e6473223a31322e352c226572726f72223a22496e746567726974794572726f72222c226d657373616765223a226475706c6963617465206f72646572222c227472616365223a2254726163656261636b202e2e2e227d5d', 'permanent', ''),
    ('2026-03-02 09:30:05.123456+00', '\xaabec5389bb1699a3b15c406e60c8b5f', '5', '2026-03-02 09:31:00+00', '1', 'false', 'release', 'ready', '\x5b5d', '', '');
INSERT INTO landfast.boot (boot, reported_at, ended)
VALUES
    ('\x626f6f742d2d2d31', '2026-03-02 09:31:00+00', 'true');
INSERT INTO landfast.tally (boot, source, received, stored, duplicate, rejected)
VALUES
    ('\x626f6f742d2d2d31', 'shop', '9', '6', '3', '0');
INSERT INTO landfast.redelivery (event_id, count)
VALUES
    ('\x2a829232f025b4fe86b59d87d684c762', '3');

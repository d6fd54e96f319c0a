-- How far the inbox's audit has come: the same marks as in the inbox. One that only one of the two knows was made before
-- the other was restored.
CREATE TABLE landfast_audit_mark (
    inbox bytea  NOT NULL,
    seq   bigint NOT NULL,
    nonce bytea  NOT NULL,
    PRIMARY KEY (inbox, seq)
);

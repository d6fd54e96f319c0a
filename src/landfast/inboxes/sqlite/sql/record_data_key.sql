INSERT INTO data_key (seq, wrapped) VALUES (?, ?)

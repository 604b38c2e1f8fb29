-- What is known of a sender that is no terminal: 'flow:NAME', or 'client:NAME' as it calls itself.
ALTER TABLE message ADD COLUMN origin TEXT CHECK (origin IS NULL OR sender IS NULL);

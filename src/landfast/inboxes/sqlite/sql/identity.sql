SELECT inbox FROM meta

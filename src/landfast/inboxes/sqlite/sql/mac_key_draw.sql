UPDATE meta SET mac_key = :drawn WHERE mac_key IS NULL

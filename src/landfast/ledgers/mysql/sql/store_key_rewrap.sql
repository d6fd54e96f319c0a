UPDATE landfast_store_key SET wrapped = %(wrapped)s, master = %(master)s WHERE id = %(id)s

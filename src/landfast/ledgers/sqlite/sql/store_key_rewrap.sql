UPDATE landfast_store_key SET wrapped = :wrapped, master = :master WHERE id = :id

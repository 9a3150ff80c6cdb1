; Keys of each document and of two levels below. List elements have no name.
(document (block_node (block_mapping (block_mapping_pair key: (_) @name) @key)))
(document (block_node (block_mapping (block_mapping_pair
  value: (block_node (block_mapping (block_mapping_pair key: (_) @name) @key))))))
(document (block_node (block_mapping (block_mapping_pair
  value: (block_node (block_mapping (block_mapping_pair
    value: (block_node (block_mapping (block_mapping_pair key: (_) @name) @key)))))))))

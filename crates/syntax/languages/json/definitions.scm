; Keys of the outermost object and of two levels below it. List elements have no name.
(document (object (pair key: (string (string_content) @name)) @key))
(document (object (pair value: (object (pair key: (string (string_content) @name)) @key))))
(document (object (pair value: (object (pair value: (object (pair key: (string (string_content) @name)) @key))))))

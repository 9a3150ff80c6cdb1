; Keys of the outermost object and of two levels below it. What lists hold has no name.
(document (object (pair key: (string (string_content) @name)) @key))
(document (object (pair value: (object (pair key: (string (string_content) @name)) @key))))
(document (object (pair value: (object (pair value: (object (pair key: (string (string_content) @name)) @key))))))

(function_call name: (identifier) @_call arguments: (arguments . (string content: (string_content) @module))
  (#any-of? @_call "require" "dofile" "loadfile")) @import
(function_call name: (dot_index_expression table: (identifier) @_call field: (identifier) @_path)
  arguments: (arguments . (string content: (string_content) @module))
  (#eq? @_call "package") (#eq? @_path "loadlib")) @import

(function_declaration "local" @private name: (identifier) @name) @function @callable
(function_declaration name: (identifier) @name) @function @callable
; The table is part of the name: `M.f`, `M:f`.
(function_declaration name: (dot_index_expression table: (_) @within field: (identifier) @name)) @function @callable
(function_declaration name: (method_index_expression table: (_) @within method: (identifier) @name)) @method @callable
(assignment_statement
  (variable_list . name: (dot_index_expression table: (_) @within field: (identifier) @name))
  (expression_list . value: (function_definition) @callable)) @function
(variable_declaration (assignment_statement
  (variable_list . name: (identifier) @name)
  (expression_list . value: (function_definition) @callable))) @function @private
(assignment_statement
  (variable_list . name: (identifier) @name)
  (expression_list . value: (function_definition) @callable)) @function
; Functions of a table.
(field name: (identifier) @name value: (function_definition) @callable) @function

; Top-level values; an alias of something elsewhere is not a definition.
(chunk (variable_declaration (assignment_statement
  (variable_list . name: (identifier) @name . (attribute)? .)
  (expression_list . value: [(number) (string) (true) (false) (table_constructor) (unary_expression) (binary_expression)] .)))
  @constant @private)
(chunk (assignment_statement
  (variable_list . name: (dot_index_expression table: (_) @within field: (identifier) @name) .)
  (expression_list . value: [(number) (string) (true) (false) (table_constructor) (unary_expression) (binary_expression)] .))
  @constant)
(chunk (assignment_statement
  (variable_list . name: (identifier) @name .)
  (expression_list . value: [(number) (string) (true) (false) (table_constructor) (unary_expression) (binary_expression)] .))
  @constant)

(function_declaration "export" @public name: (identifier) @name (parameters) @parameters) @function @callable
(function_declaration name: (identifier) @name (parameters) @parameters) @function @callable
(variable_declaration . (identifier) @name (struct_declaration) .) @struct
(variable_declaration . (identifier) @name (union_declaration) .) @struct
(variable_declaration . (identifier) @name (opaque_declaration) .) @struct
(variable_declaration . (identifier) @name (enum_declaration) .) @enum
(variable_declaration . (identifier) @name (error_set_declaration) .) @type
; A type without a name, made by a function: its functions are methods.
(return_expression (struct_declaration) @scope)
(return_expression (union_declaration) @scope)
(return_expression (enum_declaration) @scope)
; A file that is shown under a name.
(source_file (variable_declaration "pub" (identifier) @name (builtin_function (builtin_identifier) @_import) .) @module
  (#eq? @_import "@import"))
; An alias of something elsewhere is a definition only if it is public.
(source_file (variable_declaration "pub" (identifier) @name [(identifier) (field_expression)] .) @constant)
(struct_declaration (variable_declaration "pub" (identifier) @name [(identifier) (field_expression)] .) @constant)
(union_declaration (variable_declaration "pub" (identifier) @name [(identifier) (field_expression)] .) @constant)
(enum_declaration (variable_declaration "pub" (identifier) @name [(identifier) (field_expression)] .) @constant)
; Values of a file or type. Those of functions and tests are their own.
(source_file (variable_declaration . (identifier) @name type: (_)) @constant)
(struct_declaration (variable_declaration . (identifier) @name type: (_)) @constant)
(union_declaration (variable_declaration . (identifier) @name type: (_)) @constant)
(enum_declaration (variable_declaration . (identifier) @name type: (_)) @constant)
(source_file (variable_declaration . (identifier) @name [(integer) (float) (string) (multiline_string) (boolean) (character) (call_expression)
    (struct_initializer) (anonymous_struct_initializer) (array_type) (pointer_type) (slice_type) (builtin_type) (binary_expression)
    (unary_expression) (block) (if_expression) (switch_expression) (error_union_type) (nullable_type)] .) @constant)
(struct_declaration (variable_declaration . (identifier) @name [(integer) (float) (string) (multiline_string) (boolean) (character) (call_expression)
    (struct_initializer) (anonymous_struct_initializer) (array_type) (pointer_type) (slice_type) (builtin_type) (binary_expression)
    (unary_expression) (block) (if_expression) (switch_expression) (error_union_type) (nullable_type)] .) @constant)
(union_declaration (variable_declaration . (identifier) @name [(integer) (float) (string) (multiline_string) (boolean) (character) (call_expression)
    (struct_initializer) (anonymous_struct_initializer) (array_type) (pointer_type) (slice_type) (builtin_type) (binary_expression)
    (unary_expression) (block) (if_expression) (switch_expression) (error_union_type) (nullable_type)] .) @constant)
(enum_declaration (variable_declaration . (identifier) @name [(integer) (float) (string) (multiline_string) (boolean) (character) (call_expression)
    (struct_initializer) (anonymous_struct_initializer) (array_type) (pointer_type) (slice_type) (builtin_type) (binary_expression)
    (unary_expression) (block) (if_expression) (switch_expression) (error_union_type) (nullable_type)] .) @constant)

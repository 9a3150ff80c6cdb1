; If two patterns capture one node, the earlier one wins.
(class_declaration "interface" name: (_) @name) @interface
(class_declaration name: (_) @name (enum_class_body)) @enum
(class_declaration (modifiers (class_modifier) @_modifier) name: (_) @name (#eq? @_modifier "enum")) @enum
(class_declaration (modifiers (class_modifier) @_modifier) name: (_) @name (#eq? @_modifier "annotation")) @interface
(class_declaration name: (_) @name) @class
(object_declaration name: (_) @name) @class
(companion_object name: (_) @name) @class
; An unnamed one lends no name: its functions are called like those of the class.
(companion_object !name) @scope
(enum_entry . (identifier) @name (class_body)) @scope

; An extension belongs to the type that it extends.
(function_declaration [(user_type) (nullable_type)] @within . "." . name: (_) @name
  (function_value_parameters) . ":" . (_) @returns) @function @callable
(function_declaration [(user_type) (nullable_type)] @within . "." . name: (_) @name) @function @callable
(function_declaration name: (_) @name (function_value_parameters) . ":" . (_) @returns) @function @callable
(function_declaration name: (_) @name) @function @callable
; The list is what has parameters: the colon after it leads to another constructor, not to a type.
(secondary_constructor "constructor" @name (function_value_parameters) @callable @parameters (block)? @body) @method
(type_alias type: (_) @name) @type

(property_declaration (modifiers (property_modifier) @_modifier) (variable_declaration . (identifier) @name)
  (#eq? @_modifier "const")) @constant
(source_file (property_declaration [(user_type) (nullable_type)] @within . "." . (variable_declaration . (identifier) @name)) @property)
(source_file (property_declaration (variable_declaration . (identifier) @name)) @constant)
(class_body (property_declaration (variable_declaration . (identifier) @name)) @property)
(enum_class_body (property_declaration (variable_declaration . (identifier) @name)) @property)
(class_parameter ["val" "var"] . (identifier) @name) @property

; After annotations, the grammar takes `annotation class Name` for an expression. `class` can't be a name.
(infix_expression . (identifier) @_modifier . (identifier) @_class . (identifier) @name
  (#eq? @_modifier "annotation") (#eq? @_class "class")) @interface
(infix_expression . (identifier) . (identifier) @_class . [
  (identifier) @name
  (call_expression . (identifier) @name (annotated_lambda) @body)
  (call_expression . (identifier) @name)
] (#eq? @_class "class")) @class

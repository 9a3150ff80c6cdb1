; If two patterns capture one node, the earlier one wins.
(class_declaration "struct" name: (_) @name) @struct
(class_declaration "enum" name: (_) @name) @enum
; Lends its name and visibility to its members.
(class_declaration "extension" name: (_) @name) @scope
(class_declaration name: (_) @name) @class
(protocol_declaration name: (_) @name) @interface
(typealias_declaration name: (type_identifier) @name) @type
(associatedtype_declaration name: (type_identifier) @name) @type
(macro_declaration (simple_identifier) @name) @macro

((function_declaration "func" . _ @name "->" . (_) @returns) @function @callable @parameters
  (#not-match? @name "^[(]|:"))
((function_declaration "func" . _ @name) @function @callable @parameters
  (#not-match? @name "^[(]|:"))
((protocol_function_declaration "func" . _ @name "->" . (_) @returns) @method @callable @parameters
  (#not-match? @name "^[(]|:"))
((protocol_function_declaration "func" . _ @name) @method @callable @parameters
  (#not-match? @name "^[(]|:"))
(init_declaration "init" @name) @method @callable @parameters
(deinit_declaration "deinit" @name) @method @callable
(subscript_declaration "subscript" @name "->" . (_) @returns) @method @callable @parameters

(source_file (property_declaration name: (pattern bound_identifier: (_) @name)) @constant)
; One that belongs to the type and never changes.
(_ (property_declaration (modifiers (property_modifier) @_static) (value_binding_pattern "let")
  name: (pattern bound_identifier: (_) @name)) @constant
  (#any-of? @_static "static" "class"))
(class_body (property_declaration name: (pattern bound_identifier: (_) @name)) @property)
(enum_class_body (property_declaration name: (pattern bound_identifier: (_) @name)) @property)
(protocol_property_declaration name: (pattern bound_identifier: (_) @name)) @property

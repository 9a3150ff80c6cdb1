(class_declaration name: (_) @name) @class
(record_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @interface
(annotation_type_declaration name: (_) @name) @interface
(enum_declaration name: (_) @name) @enum
(enum_constant name: (_) @name body: (_)) @scope
(method_declaration name: (_) @name) @method @callable
(constructor_declaration name: (_) @name) @method @callable
(compact_constructor_declaration name: (_) @name) @method @callable
(annotation_type_element_declaration name: (_) @name) @method @callable
(field_declaration (modifiers) @_modifiers declarator: (variable_declarator name: (_) @name)
  (#match? @_modifiers "\\bstatic\\b")
  (#match? @_modifiers "\\bfinal\\b")) @constant
; The fields of an interface.
(constant_declaration declarator: (variable_declarator name: (_) @name)) @constant
(module_declaration name: (_) @name) @module @public

; If two patterns capture one node, the earlier one wins.
(namespace_declaration name: (_) @name) @module @public
(file_scoped_namespace_declaration name: (_) @name) @module @public @level1
(class_declaration name: (_) @name) @class
(record_declaration "struct" name: (_) @name) @struct
(record_declaration name: (_) @name) @class
(struct_declaration name: (_) @name) @struct
(interface_declaration name: (_) @name) @interface
(enum_declaration name: (_) @name) @enum
(delegate_declaration name: (_) @name) @type

; Explicit interface members can only be called through the interface.
(method_declaration (explicit_interface_specifier (_) @name) name: (_) @name) @method @callable @public
(method_declaration name: (_) @name) @method @callable
; A constructor's initializer is not part of its head.
(constructor_declaration name: (_) @name (constructor_initializer) @body) @method @callable
(constructor_declaration name: (_) @name) @method @callable
(destructor_declaration "~" @name name: (_) @name) @method @callable
(operator_declaration "operator" @name operator: _ @name) @method @callable
(conversion_operator_declaration "operator" @name . (_) @name) @method @callable
(indexer_declaration "this" @name) @method @callable
(local_function_statement name: (_) @name) @function @callable @private

(property_declaration (explicit_interface_specifier (_) @name) name: (_) @name) @property @public
(property_declaration name: (_) @name) @property
(event_declaration name: (_) @name) @property
(event_field_declaration (variable_declaration (variable_declarator name: (_) @name) @property))
; Parameters of a record are its properties.
(record_declaration (parameter_list (parameter name: (_) @name) @property @public))

(field_declaration (modifier) @_modifier (variable_declaration (variable_declarator name: (_) @name) @constant)
  (#eq? @_modifier "const"))
(field_declaration (modifier) @_static (modifier) @_readonly
  (variable_declaration (variable_declarator name: (_) @name) @constant)
  (#eq? @_static "static") (#eq? @_readonly "readonly"))

; If two patterns capture one node, the earlier one wins.
(namespace_definition name: (_) @name body: (_)) @module
(namespace_definition name: (_) @name !body) @module @level1
(class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @interface
(trait_declaration name: (_) @name) @trait
(enum_declaration name: (_) @name) @enum
(function_definition name: (_) @name) @function @callable
(method_declaration name: (_) @name) @method @callable
(const_declaration (const_element . (name) @name) @constant)
(function_call_expression function: (name) @_define
  arguments: (arguments . (argument (string (string_content) @name)))
  (#eq? @_define "define")) @constant
(property_declaration (property_element name: (variable_name (name) @name)) @property)
; A parameter of the constructor that is a property as well.
(property_promotion_parameter name: (variable_name (name) @name)) @property

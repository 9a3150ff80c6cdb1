; Added to JavaScript's.
(interface_declaration name: (_) @name) @interface
(enum_declaration name: (_) @name) @enum
(type_alias_declaration name: (_) @name) @type
(abstract_class_declaration name: (_) @name) @class
(function_signature name: (_) @name) @function @callable
(method_signature name: (_) @name) @method @callable
(abstract_method_signature name: (_) @name) @method @callable
(internal_module name: (_) @name) @module
(module name: (_) @name) @module
(public_field_definition name: (_) @name value: [(arrow_function) (function_expression)] @callable) @method
(program (ambient_declaration (lexical_declaration "const" (variable_declarator name: (identifier) @name) @constant)))
(program (export_statement (ambient_declaration
  (lexical_declaration "const" (variable_declarator name: (identifier) @name) @constant))))

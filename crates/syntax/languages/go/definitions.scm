; If two patterns capture one node, the earlier one wins.
(function_declaration name: (_) @name) @function @callable
; The receiver's type is part of the name: methods are outside of their type.
(method_declaration
  receiver: (parameter_list (parameter_declaration type: (_) @within))
  name: (_) @name) @method @callable
(type_spec name: (_) @name type: (struct_type)) @struct
(type_spec name: (_) @name type: (interface_type)) @interface
(type_spec name: (_) @name) @type
(type_alias name: (_) @name) @type
(method_elem name: (_) @name) @method @callable
(source_file (const_declaration (const_spec name: (identifier) @name) @constant)
  (#not-eq? @name "_"))
(source_file (var_declaration (var_spec name: (identifier) @name) @constant)
  (#not-eq? @name "_"))
(source_file (var_declaration (var_spec_list (var_spec name: (identifier) @name) @constant))
  (#not-eq? @name "_"))

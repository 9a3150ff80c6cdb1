(function_item name: (_) @name) @function @callable
(function_signature_item name: (_) @name) @function @callable
(struct_item name: (_) @name) @struct
(union_item name: (_) @name) @struct
(enum_item name: (_) @name) @enum
(trait_item name: (_) @name) @trait
(const_item name: (_) @name) @constant
(static_item name: (_) @name) @constant
(mod_item name: (_) @name) @module
((attribute_item (attribute (identifier) @_attribute)) @public . (macro_definition name: (_) @name) @macro
  (#eq? @_attribute "macro_export"))
(macro_definition name: (_) @name) @macro
(source_file (type_item name: (_) @name) @type)
(mod_item body: (declaration_list (type_item name: (_) @name) @type))
; No annotation of its own: it lends its name to its members.
(impl_item type: (_) @name) @scope

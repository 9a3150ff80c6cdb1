; If two patterns capture one node, the earlier one wins.
(package_object name: (_) @name) @module
(trait_definition name: (_) @name) @trait
(enum_definition name: (_) @name) @enum
(class_definition name: (_) @name) @class
(object_definition name: (_) @name) @class
(given_definition name: (_) @name) @class
; An abstract type member is included as well.
(type_definition name: (_) @name) @type

; Extensions of a type are outside of it.
(extension_definition parameters: (parameters . (parameter type: (_) @within))
  (function_definition name: (_) @name) @function @callable @parameters)
(function_definition name: (_) @name) @function @callable @parameters
(function_declaration name: (_) @name) @function @callable @parameters

(object_definition body: (template_body (val_definition pattern: (identifier) @name) @constant))
(package_object body: (template_body (val_definition pattern: (identifier) @name) @constant))
(compilation_unit (val_definition pattern: (identifier) @name) @constant)
(template_body (val_definition pattern: (identifier) @name) @property)
(template_body (var_definition pattern: (identifier) @name) @property)
(template_body (val_declaration name: (_) @name) @property)
(template_body (var_declaration name: (_) @name) @property)
(class_parameter ["val" "var"] name: (_) @name) @property
; All parameters of the first list of a case class are its properties.
(class_definition "case" class_parameters: (class_parameters (class_parameter name: (_) @name) @property))

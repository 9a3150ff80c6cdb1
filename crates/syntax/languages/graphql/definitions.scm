(object_type_definition (name) @name) @class
(input_object_type_definition (name) @name) @struct
(interface_type_definition (name) @name) @interface
(enum_type_definition (name) @name) @enum
(union_type_definition (name) @name) @type
(scalar_type_definition (name) @name) @type
(directive_definition (name) @name) @macro
[(object_type_extension (name) @name) (interface_type_extension (name) @name)
  (input_object_type_extension (name) @name)] @scope
; A field that takes arguments is called, others are read.
(field_definition (name) @name (arguments_definition)) @method @callable
(field_definition (name) @name) @property
(input_fields_definition (input_value_definition (name) @name) @property)
(operation_definition (name) @name) @function @callable
(fragment_definition (fragment_name) @name) @block

(method_invocation name: (identifier) @name) @call
(object_creation_expression type: (type_identifier) @name) @call
(object_creation_expression type: (generic_type . (type_identifier) @name)) @call
(explicit_constructor_invocation constructor: (_) @name) @call

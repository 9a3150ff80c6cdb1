(formal_parameter) @parameter
(formal_parameter name: (_) @name) @parameter
(formal_parameter (type) @type name: (_) @name) @parameter
(formal_parameter [(field_formal_parameter name: (_) @name) (super_formal_parameter name: (_) @name)]) @parameter
(formal_parameter [(field_formal_parameter (type) @type) (super_formal_parameter (type) @type)]) @parameter
(optional_formal_parameters (formal_parameter) @parameter @optional)
(optional_formal_parameters (formal_parameter) @parameter . default_value: (_) @default)
(optional_formal_parameters "required" . (formal_parameter) @parameter @required)

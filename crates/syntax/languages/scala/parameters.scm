(parameters (parameter name: (_) @name) @parameter)
(parameters (parameter type: (_) @type) @parameter)
(parameters (parameter default_value: (_) @default) @parameter)

(function_value_parameters (parameter . (identifier) @name . ":" . (_) @type) @parameter)
(function_value_parameters (parameter) @parameter . "=" . (_) @default)

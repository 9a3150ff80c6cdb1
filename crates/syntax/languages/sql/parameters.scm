(function_argument) @parameter
(function_argument [(keyword_in) (keyword_out) (keyword_inout) (keyword_variadic)]? (identifier) @name . (_) @type) @parameter
(function_argument . [(keyword_in) (keyword_out) (keyword_inout) (keyword_variadic)]? . (_) @type . ) @parameter
(function_argument . (_) @type . (keyword_default)) @parameter
(function_argument (identifier) @name . (_) @type) @parameter
(function_argument (literal) @default .) @parameter

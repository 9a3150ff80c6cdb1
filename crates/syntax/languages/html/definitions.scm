; If two patterns capture one node, the earlier one wins.
(element (start_tag (tag_name) @_tag) (end_tag) @body
  (#match? @_tag "^[hH][1-6]$")) @section @name
; Link targets, and named elements.
(element (start_tag (attribute (attribute_name) @_id
  [(quoted_attribute_value (attribute_value) @name) (attribute_value) @name])) . (_)? @body
  (#match? @_id "^[iI][dD]$")) @element
(element (self_closing_tag (attribute (attribute_name) @_id
  [(quoted_attribute_value (attribute_value) @name) (attribute_value) @name]))
  (#match? @_id "^[iI][dD]$")) @element
(script_element (start_tag (attribute (attribute_name) @_id (quoted_attribute_value (attribute_value) @name)))
  (#match? @_id "^[iI][dD]$")) @element
; Custom elements.
(element (start_tag (tag_name) @name) . (_)? @body (#match? @name "-")) @element

; A heading opens a section, which lasts until the next of its level or above.
(atx_heading (atx_h1_marker) @level1 heading_content: (inline) @name) @section
(atx_heading (atx_h2_marker) @level2 heading_content: (inline) @name) @section
(atx_heading (atx_h3_marker) @level3 heading_content: (inline) @name) @section
(atx_heading (atx_h4_marker) @level4 heading_content: (inline) @name) @section
(atx_heading (atx_h5_marker) @level5 heading_content: (inline) @name) @section
(atx_heading (atx_h6_marker) @level6 heading_content: (inline) @name) @section
(setext_heading heading_content: (paragraph (inline) @name) (setext_h1_underline) @level1) @section
(setext_heading heading_content: (paragraph (inline) @name) (setext_h2_underline) @level2) @section
; Headings in quotations or lists are not sections of the document.
[(block_quote) (list)] @skip

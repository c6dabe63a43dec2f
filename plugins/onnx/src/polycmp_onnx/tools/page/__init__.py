"""Files of the page that `inspect model --save-visual` writes; `dagre.min.js` is @dagrejs/dagre 3.1.3 (MIT)."""

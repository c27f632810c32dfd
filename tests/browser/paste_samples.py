"""What other programs put on the clipboard, imitated by hand, and what a page keeps of it."""
# ruff: noqa: E501 - the clipboards of other programs have long lines

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sample:
    """HTML and text of the clipboard."""

    name: str
    html: str
    text: str = "-"


_DOCS = '<meta charset="utf-8"><b style="font-weight:normal;" id="docs-internal-guid-1f">{}</b>'
_DOCS_ITEM = (
    '<li dir="ltr" style="list-style-type:disc;font-size:11pt;" aria-level="{level}"><p dir="ltr" '
    'style="line-height:1.38;" role="presentation"><span style="font-size:11pt;font-weight:400;">{words}</span></p></li>'
)
_DOCS_TASK = (
    '<li dir="ltr" role="checkbox" aria-checked="{state}" style="list-style-type:none;"><img src="data:image/png;base64,'
    'iVBORw0KGgo=" width="17px" height="18px" alt="{alt}" aria-roledescription="checkbox" style="margin-right:3px;"/>'
    '<p style="display:inline-block;"><span style="font-weight:400;{more}">{words}</span></p></li>'
)
_WORD = (
    '<html xmlns:o="urn:schemas-microsoft-com:office:office"><head><meta name=Generator content="Microsoft Word 15">'
    "<style><!-- p.MsoNormal {{margin:0cm;}} --></style><!--[if gte mso 9]><xml><o:x/></xml><![endif]--></head>"
    "<body lang=EN-GB style='word-wrap:break-word'><!--StartFragment-->{}<!--EndFragment--></body></html>"
)
_WORD_ITEM = (
    "<p class={style} style='text-indent:-18.0pt;mso-list:l0 level{level} lfo1'><![if !supportLists]><span lang=EN-GB "
    "style='font-family:Symbol'><span style='mso-list:Ignore'>{mark}<span style='font:7.0pt \"Times New Roman\"'>"
    "&nbsp;&nbsp; </span></span></span><![endif]><span lang=EN-GB>{words}<o:p></o:p></span></p>"
)
_EXCEL = (
    '<html xmlns:x="urn:schemas-microsoft-com:office:excel"><head><meta name=Generator content="Microsoft Excel 15">'
    '<style><!--table {{mso-displayed-decimal-separator:"\\.";}} {sheet} --></style></head><body link="#0563C1">'
    "<table border=0 cellpadding=0 width=128 style='border-collapse:collapse;width:96pt'><!--StartFragment-->"
    "<col width=64 span=2 style='width:48pt'>{rows}<!--EndFragment--></table></body></html>"
)
_GITHUB_CODE = (
    '<div class="highlight highlight-source-python notranslate overflow-auto" dir="auto" '
    'data-snippet-clipboard-copy-content="print(1)"><pre><span class="pl-en">print</span>(<span class="pl-c1">1</span>)'
    '</pre><div class="zeroclipboard-container"><clipboard-copy aria-label="Copy" class="ClipboardButton btn" '
    'value="print(1)" tabindex="0" role="button"><svg class="octicon"></svg>Copy</clipboard-copy></div></div>'
)

SAMPLES = [
    Sample(
        "Google Docs: marks",
        _DOCS.format(
            '<p dir="ltr" style="line-height:1.38;"><span style="font-weight:400;">Plain, </span><span style="font-weight:'
            '700;">bold</span><span style="font-weight:400;font-style:italic;">, italic</span><a href="https://example.org/'
            'tide" style="text-decoration:none;"><span style="text-decoration:underline;">, a link</span></a></p>'
        ),
    ),
    Sample(
        "Google Docs: nested list",
        _DOCS.format(
            f"<ul>{_DOCS_ITEM.format(level=1, words='one')}<ul>{_DOCS_ITEM.format(level=2, words='one a')}</ul>"
            f"{_DOCS_ITEM.format(level=1, words='two')}</ul>"
        ),
    ),
    Sample(
        "Google Docs: checklist",
        _DOCS.format(
            "<ul>"
            + _DOCS_TASK.format(state="true", alt="checked", words="done", more="text-decoration:line-through;")
            + _DOCS_TASK.format(state="false", alt="unchecked", words="open", more="")
            + "</ul>"
        ),
    ),
    Sample(
        "Google Docs: heading and table",
        _DOCS.format(
            '<h2 dir="ltr" style="margin-top:18pt;"><span style="font-weight:700;">Piers</span></h2><div dir="ltr" '
            'align="left"><table style="border:none;"><colgroup><col width="100"/></colgroup><tbody><tr style="height:0pt">'
            '<td style="border:solid"><p dir="ltr"><span style="font-weight:400;">4</span></p></td></tr></tbody></table>'
            "</div>"
        ),
    ),
    Sample(
        "Word: heading and marks",
        _WORD.format(
            "<h1><span lang=EN-GB>Report<o:p></o:p></span></h1><p class=MsoNormal><b><span lang=EN-GB>Bold</span></b>"
            "<span lang=EN-GB> and <i>italic</i>, x<sup>2</sup>.<o:p></o:p></span></p>"
        ),
    ),
    Sample(
        "Word: bullets on two levels",
        _WORD.format(
            _WORD_ITEM.format(style="MsoListParagraphCxSpFirst", level=1, mark="·", words="one")
            + _WORD_ITEM.format(style="MsoListParagraphCxSpMiddle", level=2, mark="o", words="one a")
            + _WORD_ITEM.format(style="MsoListParagraphCxSpLast", level=1, mark="·", words="two")
            + "<p class=MsoNormal>after</p>"
        ),
    ),
    Sample(
        "Word: numbers from 3",
        _WORD.format(
            _WORD_ITEM.format(style="MsoListParagraph", level=1, mark="3.", words="three")
            + _WORD_ITEM.format(style="MsoListParagraph", level=1, mark="4.", words="four")
        ),
    ),
    Sample(
        "Word: table",
        _WORD.format(
            "<table class=MsoTableGrid border=1><tr><td width=301 valign=top style='width:225.4pt'><p class=MsoNormal>"
            "<span lang=EN-GB>Pier<o:p></o:p></span></p></td><td><p class=MsoNormal style='text-align:right'>4</p></td>"
            "</tr></table>"
        ),
    ),
    Sample(
        "Excel: alignment in styles",
        _EXCEL.format(
            sheet="",
            rows="<tr height=20 style='height:15.0pt'><td height=20 style='height:15.0pt;text-align:center'>Line</td>"
            "<td align=right style='width:48pt'>22.4</td></tr>",
        ),
    ),
    Sample(
        "Excel: alignment in classes",
        _EXCEL.format(
            sheet=".xl65 {mso-style-parent:style0; text-align:right;} .xl66 {text-align:center;}",
            rows="<tr><td class=xl65>1</td><td class=xl66>2</td><td class=xl67>3</td></tr>",
        ),
    ),
    Sample(
        "WPS Writer: list",
        '<html xmlns:w="urn:schemas-microsoft-com:office:word"><head><meta name=Generator content="WPS Office">'
        "<style>@font-face{font-family:宋体;}</style></head><body><!--StartFragment--><p class=MsoNormal "
        'style="margin-left:21.0000pt;mso-list:l0 level1 lfo1;"><![if !supportLists]><span style="mso-list:Ignore;">1.'
        '<span>&nbsp;</span></span><![endif]><span style="mso-spacerun:\'yes\';font-family:宋体;"><font face="宋体" >'
        'first</font></span></p><p class=MsoNormal style="mso-list:l0 level1 lfo1;"><![if !supportLists]><span '
        'style="mso-list:Ignore;">2.<span>&nbsp;</span></span><![endif]><span style="font-weight:bold;"><font '
        'face="宋体" >第二</font></span></p><!--EndFragment--></body></html>',
    ),
    Sample(
        "WPS Spreadsheet",
        '<html xmlns:et="urn:schemas-kingsoft-com:office:spreadsheet"><head><meta name="Generator" content="WPS Office ET">'
        "<style>.et3{text-align:center;}</style></head><body><table width=144 style='width:108pt'><col width=72 span=2 "
        "style='width:54pt;'/><tr height=18><td class=et3 height=18 x:str>码头</td><td class=et2 x:num>4</td></tr></table>"
        "</body></html>",
    ),
    Sample(
        "Notion: to-do as words",
        "<meta charset='utf-8'><ul>\n<li>[x]  done</li>\n<li>[ ]  open</li>\n</ul>\n<!-- notionvc: 1f -->",
    ),
    Sample(
        "Notion: to-do as elements",
        '<ul id="1" class="to-do-list"><li><div class="checkbox checkbox-on"></div> <span class="to-do-children-checked">'
        'done</span></li></ul><ul id="2" class="to-do-list"><li><div class="checkbox checkbox-off"></div> <span '
        'class="to-do-children-unchecked">open</span></li></ul>',
    ),
    Sample("Notion: callout", "<meta charset='utf-8'><aside>\n💡 Mind the gap.\n\n</aside>\n<!-- notionvc: 2f -->"),
    Sample(
        "Notion: code",
        "<meta charset='utf-8'><pre><code class=\"language-javascript\">let a = 1;\nlet b;\n</code></pre>\n",
    ),
    Sample(
        "GitHub: task list",
        '<ul class="contains-task-list"><li class="task-list-item"><input type="checkbox" id="" disabled="" '
        'class="task-list-item-checkbox" checked=""> done</li><li class="task-list-item"><input type="checkbox" '
        'class="task-list-item-checkbox"> open <code>x</code></li></ul>',
    ),
    Sample("GitHub: code with its Copy button", _GITHUB_CODE),
    Sample(
        "GitHub: alert",
        '<div class="markdown-alert markdown-alert-warning" dir="auto"><p class="markdown-alert-title" dir="auto"><svg '
        'class="octicon"></svg>Warning</p><p dir="auto">Hot.</p></div>',
    ),
    Sample(
        "GitHub: heading with its anchor",
        '<div class="markdown-heading" dir="auto"><h2 tabindex="-1" class="heading-element" dir="auto">Install</h2><a '
        'id="user-content-install" class="anchor" aria-label="Permalink: Install" href="#install"><svg></svg></a></div>'
        '<p dir="auto">Run it.</p>',
    ),
    Sample(
        "Web page: boxes and breaks",
        '<html><body><!--StartFragment--><div class="article" style="color:red"><div>First line</div><div>Second<br><br>'
        "third</div></div><section><h3>Head</h3>words</section><!--EndFragment--></body></html>",
    ),
    Sample(
        "Web page: a far picture",
        '<figure class="wp-block-image"><img src="https://far.example/pier.jpg" alt="Pier 4" srcset="https://far.example/2x'
        '.jpg 2x" style="width:100%"><figcaption>At night</figcaption></figure><p>and <img src="https://far.example/i.png" '
        'alt="lamp"> inline</p>',
    ),
    Sample(
        "Web page: hostile",
        '<style>p{color:red}</style><script>window.evil=1</script><p onclick="evil()" style="position:fixed">words <a '
        'href="javascript:evil()">link</a><img src=x onerror="window.evil=1"></p><iframe src="https://far.example"></iframe>',
    ),
    Sample(
        "Markdown as text",
        "",
        "# Tides\n\nHigh at **six**, see [times](https://example.org/t).\n\n- one\n- two\n\n| a | b |\n| --- | --- |\n"
        "| 1 | 2 |\n\n```python\nx = 1\n```\n",
    ),
    Sample("Table as text", "", "Line\t2026\nPier 4\t22:40\n"),
    Sample("Text without marks", "", "First line\nsecond line\n\nNext - with a dash"),
    Sample("Text that is an address", "", "https://example.org/tide"),
]

# What the page stores.
EXPECTED = {
    "Google Docs: marks": (
        '<p>Plain, <strong>bold</strong><em>, italic</em><a href="https://example.org/tide">, a link</a></p>'
    ),
    "Google Docs: nested list": ("<ul><li>one<ul><li>one a</li></ul></li><li>two</li></ul>"),
    "Google Docs: checklist": (
        '<ul data-type="taskList"><li data-type="taskItem" data-checked="true">done</li>'
        '<li data-type="taskItem" data-checked="false">open</li></ul>'
    ),
    "Google Docs: heading and table": ("<h2>Piers</h2><table><tbody><tr><td>4</td></tr></tbody></table>"),
    "Word: heading and marks": ("<h1>Report</h1><p><strong>Bold</strong> and <em>italic</em>, x<sup>2</sup>.</p>"),
    "Word: bullets on two levels": ("<ul><li>one<ul><li>one a</li></ul></li><li>two</li></ul><p>after</p>"),
    "Word: numbers from 3": ('<ol start="3"><li>three</li><li>four</li></ol>'),
    "Word: table": ('<table><tbody><tr><td>Pier</td><td align="right">4</td></tr></tbody></table>'),
    "Excel: alignment in styles": (
        '<table><tbody><tr><td align="center">Line</td><td align="right">22.4</td></tr></tbody></table>'
    ),
    "Excel: alignment in classes": (
        '<table><tbody><tr><td align="right">1</td><td align="center">2</td><td>3</td></tr></tbody></table>'
    ),
    "WPS Writer: list": ("<ol><li>first</li><li><strong>第二</strong></li></ol>"),
    "WPS Spreadsheet": ('<table><tbody><tr><td align="center">码头</td><td>4</td></tr></tbody></table>'),
    "Notion: to-do as words": (
        '<ul data-type="taskList"><li data-type="taskItem" data-checked="true">done</li>'
        '<li data-type="taskItem" data-checked="false">open</li></ul>'
    ),
    "Notion: to-do as elements": (
        '<ul data-type="taskList"><li data-type="taskItem" data-checked="true">done</li></ul>'
        '<ul data-type="taskList"><li data-type="taskItem" data-checked="false">open</li></ul>'
    ),
    "Notion: callout": ('<blockquote data-callout="note"><p>Mind the gap.</p></blockquote>'),
    "Notion: code": ('<pre><code class="language-javascript">let a = 1;\nlet b;</code></pre>'),
    "GitHub: task list": (
        '<ul data-type="taskList"><li data-type="taskItem" data-checked="true">done</li>'
        '<li data-type="taskItem" data-checked="false">open <code>x</code></li></ul>'
    ),
    "GitHub: code with its Copy button": ('<pre><code class="language-python">print(1)</code></pre>'),
    "GitHub: alert": ('<blockquote data-callout="warning"><p>Hot.</p></blockquote>'),
    "GitHub: heading with its anchor": ("<h2>Install</h2><p>Run it.</p>"),
    "Web page: boxes and breaks": ("<p>First line</p><p>Second</p><p>third</p><h3>Head</h3><p>words</p>"),
    "Web page: a far picture": (
        '<figure><img src="https://far.example/pier.jpg" alt="Pier 4"><figcaption>At night</figcaption></figure>'
        '<p>and <img src="https://far.example/i.png" alt="lamp"> inline</p>'
    ),
    "Web page: hostile": ("<p>words link</p>"),
    "Markdown as text": (
        '<h1>Tides</h1><p>High at <strong>six</strong>, see <a href="https://example.org/t">times</a>.</p><ul>'
        "<li>one</li><li>two</li></ul><table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td>"
        '<td>2</td></tr></tbody></table><pre><code class="language-python">x = 1</code></pre>'
    ),
    "Table as text": (
        "<table><tbody><tr><td>Line</td><td>2026</td></tr><tr><td>Pier 4</td><td>22:40</td></tr></tbody></table>"
    ),
    "Text without marks": ("<p>First line</p><p>second line</p><p>Next - with a dash</p>"),
    "Text that is an address": ('<p><a href="https://example.org/tide">https://example.org/tide</a></p>'),
}

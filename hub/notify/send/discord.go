package send

import "strings"

const (
	// maxEmbed is the longest description of an embed of Discord, and maxTitle its longest
	// title, in characters.
	maxEmbed, maxTitle = 4096, 256
	// The colours of an embed.
	red, grey = 0xd92d20, 0x667085
)

// plainText is text that Discord shows as it is: Markdown is escaped, and a zero-width space
// in a URL keeps it from being a link.
var plainText = strings.NewReplacer(
	"\\", "\\\\", "*", "\\*", "_", "\\_", "~", "\\~", "`", "\\`", "|", "\\|", ">", "\\>", "#", "\\#", "-", "\\-", "[", "\\[", "]", "\\]", "(", "\\(", ")", "\\)",
	"<", "\\<", "@", "@\u200b", ":", ":\u200b",
)

// fenced is text in a code block of Discord, which only three backticks end.
var fenced = strings.NewReplacer("`", "`\u200b")

// discord is one embed: its text mentions nobody, and no mention is allowed. Objects that do
// not fit are counted.
func discord(c Content) any {
	var text strings.Builder
	color := grey
	for i, o := range c.Objects {
		part := "**" + plainText.Replace(cut(o.headline(), maxLine)) + "**\n"
		for _, more := range []string{cut(o.Message, maxMessage), cut(o.Command, maxLine)} {
			if more != "" {
				part += "```\n" + fenced.Replace(more) + "\n```\n"
			}
		}
		if len([]rune(text.String()+part)) > maxEmbed-maxLine { // the tail still fits
			c.Others += len(c.Objects) - i
			break
		}
		text.WriteString(part)
		if o.Bad() {
			color = red
		}
	}
	text.WriteString(c.tail())
	embed := object{"title": cut(plainText.Replace(cut(c.Title, maxLine)), maxTitle), "description": text.String(), "color": color, "footer": object{"text": cut(c.foot(), maxMessage)}}
	if c.URL != "" {
		embed["url"] = c.URL
	}
	return object{"embeds": []object{embed}, "allowed_mentions": object{"parse": []string{}}}
}

package send

import (
	"fmt"
	"strings"
)

const (
	// maxMessage and maxLine are how much of an object's message, and of its other lines,
	// a chat shows, in characters: a section of Slack has at most 3,000, and each of
	// these may become five.
	maxMessage, maxLine = 280, 150
	// maxCard is the largest body for Teams, which takes 28 KiB.
	maxCard = 27 << 10
)

// tail says what is not among the objects.
func (c Content) tail() string {
	var parts []string
	if c.Others > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", c.Others))
	}
	if c.LeftOut > 0 {
		parts = append(parts, fmt.Sprintf("%d earlier changes of these were left out", c.LeftOut))
	}
	return strings.Join(parts, "; ")
}

// foot says where the message comes from.
func (c Content) foot() string {
	switch {
	case c.Test:
		return "a test"
	case c.Cause != "":
		return "revision " + c.Cause + ", router " + c.Router
	}
	return "router " + c.Router
}

// headline is what happened to an object.
func (o Object) headline() string {
	text := o.Kind + " " + o.Name + ": " + o.Event
	if o.Changes > 1 {
		text += fmt.Sprintf(" (changed %d times)", o.Changes)
	}
	if o.Age != "" {
		text += ", " + o.Age + " ago"
	}
	return text
}

func cut(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

// mrkdwn is text that Slack shows as it is: & < > begin links and mentions. Zero-width
// spaces keep *, _, ~ and ` from being formatting.
var mrkdwn = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "*", "*\u200b", "_", "_\u200b", "~", "~\u200b", "`", "`\u200b")

// code is text in a code block of Slack, where only & < > and the end of the block count.
var code = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "```", "`\u200b`\u200b`")

type object = map[string]any

func slack(c Content) any {
	section := func(text string) object {
		return object{"type": "section", "text": object{"type": "mrkdwn", "text": text}}
	}
	blocks := []object{section("*" + mrkdwn.Replace(cut(c.Title, maxLine)) + "*")}
	for _, o := range c.Objects {
		text := mrkdwn.Replace(cut(o.headline(), maxLine))
		if o.Message != "" {
			text += "\n```" + code.Replace(cut(o.Message, maxMessage)) + "```"
		}
		if o.Command != "" {
			text += "\n`" + code.Replace(strings.ReplaceAll(cut(o.Command, maxLine), "`", "'")) + "`"
		}
		blocks = append(blocks, section(text))
	}
	if tail := c.tail(); tail != "" {
		blocks = append(blocks, section(tail))
	}
	foot := mrkdwn.Replace(c.foot())
	if c.URL != "" {
		foot += ", <" + mrkdwnURL.Replace(c.URL) + "|hub>"
	}
	blocks = append(blocks, object{"type": "context", "elements": []object{{"type": "mrkdwn", "text": foot}}})
	return object{"text": mrkdwn.Replace(cut(c.Title, maxLine)), "blocks": blocks}
}

// mrkdwnURL keeps the hub's own URL inside a link.
var mrkdwnURL = strings.NewReplacer("&", "&amp;", "<", "%3C", ">", "%3E", "|", "%7C")

// markdown is text that an Adaptive Card shows as it is: it reads a little Markdown.
var markdown = strings.NewReplacer("\\", "\\\\", "*", "\\*", "_", "\\_", "[", "\\[", "]", "\\]", "(", "\\(", ")", "\\)", "#", "\\#", "`", "\\`", "<", "&lt;", ">", "&gt;", "~", "\\~", "&", "&amp;")

func teams(c Content) any {
	block := func(text string, more object) object {
		out := object{"type": "TextBlock", "text": text, "wrap": true}
		for k, v := range more {
			out[k] = v
		}
		return out
	}
	body := []object{block(markdown.Replace(cut(c.Title, maxLine)), object{"size": "Medium", "weight": "Bolder"})}
	for _, o := range c.Objects {
		color := "Default"
		if o.Bad() {
			color = "Attention"
		}
		body = append(body, block(markdown.Replace(cut(o.headline(), maxLine)), object{"color": color, "spacing": "Medium"}))
		for _, text := range []string{cut(o.Message, maxMessage), cut(o.Command, maxLine)} {
			if text != "" {
				body = append(body, block(markdown.Replace(text), object{"fontType": "Monospace", "spacing": "None"}))
			}
		}
	}
	if tail := c.tail(); tail != "" {
		body = append(body, block(tail, nil))
	}
	body = append(body, block(markdown.Replace(c.foot()), object{"isSubtle": true, "size": "Small"}))
	card := object{"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.4", "body": body}
	if c.URL != "" {
		card["actions"] = []object{{"type": "Action.OpenUrl", "title": "Open the hub", "url": c.URL}}
	}
	return object{"type": "message", "attachments": []object{{"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": nil, "content": card}}}
}

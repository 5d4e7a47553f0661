package send

import "strings"

// maxGoogleChat is the largest body for Google Chat, which takes 32,000 bytes.
const maxGoogleChat = 31 << 10

var (
	// cardText is text that a card of Google Chat shows as it is: & < > begin HTML, and a
	// zero-width space in a URL keeps it from being a link.
	cardText = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "://", ":\u200b//")
	// besideCard is text outside of a card, where <users/…> mentions people and *, _, ~ and `
	// are formatting.
	besideCard = strings.NewReplacer("<", "<\u200b", "://", ":\u200b//", "*", "*\u200b", "_", "_\u200b", "~", "~\u200b", "`", "`\u200b")
)

// googleChat is the title and a card. Only text outside of cards can mention somebody, so all
// but the title is in the card. The title is not: phones show no text of a card in their
// notifications, and its fallbackText not always.
func googleChat(c Content) any {
	paragraph := func(text string) object { return object{"textParagraph": object{"text": text}} }
	section := func(widgets ...object) object { return object{"widgets": widgets} }
	var sections []object
	for _, o := range c.Objects {
		headline := cardText.Replace(cut(o.headline(), maxLine))
		if o.Bad() {
			headline = `<font color="#d92d20">` + headline + "</font>"
		}
		widgets := []object{paragraph(headline)}
		for _, text := range []string{cut(o.Message, maxMessage), cut(o.Command, maxLine)} {
			if text != "" {
				widgets = append(widgets, paragraph(cardText.Replace(text)))
			}
		}
		sections = append(sections, section(widgets...))
	}
	var last []object
	for _, text := range []string{c.tail(), cut(c.foot(), maxMessage)} {
		if text != "" {
			last = append(last, paragraph(cardText.Replace(text)))
		}
	}
	if c.URL != "" {
		last = append(last, object{"buttonList": object{"buttons": []object{{"text": "Open the hub", "onClick": object{"openLink": object{"url": c.URL}}}}}})
	}
	sections = append(sections, section(last...))
	return object{"text": besideCard.Replace(cut(c.Title, maxLine)), "cardsV2": []object{{"cardId": "axle", "card": object{"sections": sections}}}}
}

package application

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// similar are letters that people take for a Latin one.
var similar = map[rune]string{}

func init() {
	for latin, others := range map[string]string{
		"a": "аɑαａ", "b": "ЬƄ", "c": "сϲⅽ", "d": "ԁɗⅾ", "e": "еҽєℯ", "f": "ϝ", "g": "ɡց", "h": "һհ", "i": "іιɩⅰı", "j": "јϳ", "k": "κкᴋ",
		"l": "ӏІΙⅼ1|ǀ", "m": "мᴍⅿ", "n": "ոռ", "o": "оοօ0", "p": "рρ", "q": "ԛզ", "r": "гᴦ", "s": "ѕʂ", "t": "тτ", "u": "υսʋ", "v": "νѵⅴ", "w": "ԝѡш", "x": "хχ×ⅹ", "y": "уγү", "z": "ᴢʐ",
	} {
		for _, r := range others {
			similar[r] = latin
		}
	}
}

// skeleton is how a text looks: equal ones are taken for each other.
func skeleton(text string) string {
	var out strings.Builder
	for _, r := range norm.NFKD.String(text) {
		if r == 'I' {
			r = 'l'
		}
		if unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Cf, r) {
			continue
		}
		if latin, found := similar[r]; found {
			out.WriteString(latin)
			continue
		}
		r = unicode.ToLower(r)
		if latin, found := similar[r]; found {
			out.WriteString(latin)
			continue
		}
		out.WriteRune(r)
	}
	return strings.NewReplacer("rn", "m", "vv", "w").Replace(out.String())
}

// wordsOf are the words of a skeleton. Letters that stand by themselves make one.
func wordsOf(text string) (all []string) {
	single := ""
	for _, word := range strings.FieldsFunc(skeleton(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }) {
		if len([]rune(word)) == 1 {
			single += word
			continue
		}
		all, single = append(all, single, word), ""
	}
	return append(all, single)
}

// product is how people call what the hub is.
const product = "Axle"

// checkLooks returns Invalid for a name that people could take for the hub's own.
func checkLooks(field, name string, own []string) error {
	if mixed(name) {
		return invalid(field, "%.80q mixes letters of several scripts in one word", name)
	}
	words := wordsOf(name)
	whole := strings.Join(words, "")
	for _, mine := range append([]string{product}, own...) {
		looks := strings.Join(wordsOf(mine), "")
		if looks == "" {
			continue
		}
		for _, word := range append(words, whole, strings.TrimSuffix(whole, "hub")) {
			if word == looks {
				return invalid(field, "%.80q looks like the name of the hub itself; choose another one", name)
			}
		}
	}
	return nil
}

// mixed reports whether a word has letters of Latin and of a script that has the same shapes.
func mixed(text string) bool {
	for word := range strings.FieldsSeq(text) {
		scripts := 0
		for _, script := range []*unicode.RangeTable{unicode.Latin, unicode.Cyrillic, unicode.Greek, unicode.Armenian} {
			if strings.ContainsFunc(word, func(r rune) bool { return unicode.Is(script, r) }) {
				scripts++
			}
		}
		if scripts > 1 {
			return true
		}
	}
	return false
}

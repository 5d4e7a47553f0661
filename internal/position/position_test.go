package position_test

import (
	"testing"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/position"
)

func TestParseReadsWhatStringWrites(t *testing.T) {
	tests := map[string]struct {
		text string
		want position.Position
		code errcode.Code
	}{
		"empty":       {"", position.Position{}, ""},
		"usual":       {"00064f-ab12.7", position.Position{Incarnation: "00064f-ab12", Sequence: 7}, ""},
		"no sequence": {"00064f", position.Position{}, errcode.Invalid},
		"negative":    {"a.-1", position.Position{}, errcode.Invalid},
		"text":        {"a.b", position.Position{}, errcode.Invalid},
		"no life":     {".7", position.Position{}, errcode.Invalid},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := position.Parse(tc.text)
			if got != tc.want || errcode.Of(err) != tc.code {
				t.Errorf("got %v, %v", got, err)
			}
			if err == nil && got.String() != tc.text {
				t.Errorf("back to text: %q", got.String())
			}
		})
	}
}

func TestNewerIncarnationBeatsOlder(t *testing.T) {
	old, young := position.Position{Incarnation: "a", Sequence: 9}, position.Position{Incarnation: "b", Sequence: 1}
	if !old.Before(young) || young.Before(old) || old.Before(old) {
		t.Error("incarnations compare before sequences")
	}
	if (position.Position{Incarnation: "a", Sequence: 10}).Before(old) {
		t.Error("sequences compare as numbers")
	}
}

func FuzzParse(f *testing.F) {
	f.Add("00064f-ab12.7")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := position.Parse(text)
		if err != nil {
			return
		}
		if again, err := position.Parse(p.String()); err != nil || again != p {
			t.Errorf("%q is %v, then %v, %v", text, p, again, err)
		}
	})
}

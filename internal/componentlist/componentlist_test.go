package componentlist

import (
	"os"
	"strings"
	"testing"
)

func TestTheListOfTheTreeIsRead(t *testing.T) {
	text, err := os.ReadFile("../../deploy/" + Path)
	if err != nil {
		t.Fatal(err)
	}
	all, err := Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]Component{}
	for _, c := range all {
		by[c.Name] = c
	}
	if len(by) != len(all) || by["core"].Secret != "" || by["infrastructure-aws"].Secret != "capa-manager-bootstrap-credentials" || by["infrastructure-aws"].Namespace != "capa-system" {
		t.Errorf("read %+v", all)
	}
}

func TestAListThatIsNoneIsRefused(t *testing.T) {
	sum := strings.Repeat("a", 64)
	for _, text := range []string{"core v1", sum + " x core v1 ns image -", "short 1 core v1 ns image -", sum + " 1 core v1 ns image"} {
		if all, err := Parse(text); err == nil {
			t.Errorf("%q gave %+v", text, all)
		}
	}
}

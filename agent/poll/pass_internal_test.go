package poll

import (
	"os"
	"regexp"
	"slices"
	"testing"
)

// The page of the flow lists the steps of a pass, in their order.
func TestThePageListsTheStepsOfAPass(t *testing.T) {
	page, err := os.ReadFile("../../docs/flows/poll.md")
	if err != nil {
		t.Fatal(err)
	}
	var told, done []string
	for _, m := range regexp.MustCompile(`(?m)^\d+\. \*\*([a-z ]+)\*\*:`).FindAllSubmatch(page, -1) {
		told = append(told, string(m[1]))
	}
	for _, step := range steps {
		done = append(done, step.name)
	}
	if !slices.Equal(told, done) {
		t.Errorf("the page tells %q, the code does %q", told, done)
	}
}

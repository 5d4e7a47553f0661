package report

import (
	"errors"
	"fmt"
	"testing"
)

type fromTheHub struct{ away bool }

func (e fromTheHub) Error() string { return "502" }
func (e fromTheHub) Away() bool    { return e.away }

func TestARestartOfTheHubFailsNoService(t *testing.T) {
	for _, test := range []struct {
		err          error
		sync, reason string
	}{
		{fmt.Errorf("fetch specs: %w", fromTheHub{away: true}), "Pending", "HubAway"},
		{fmt.Errorf("fetch specs: %w", fromTheHub{}), "Failed", ""},
		{errors.New("no such file"), "Failed", ""},
	} {
		sync, reason, message := (&Reporter{}).syncOf(View{Listed: true, Trouble: &Trouble{Source: SourceAgent, Err: test.err}})
		if sync != test.sync || reason != test.reason || message == "" {
			t.Errorf("%v: the service is %s %q: %q", test.err, sync, reason, message)
		}
	}
}

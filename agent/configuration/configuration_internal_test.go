package configuration

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/agent/poll"
	"github.com/axle-cd/axle/api/v1alpha1"
)

func TestSettingsOfAConfiguration(t *testing.T) {
	text := func(s string) *string { return &s }
	number := func(n int) *int { return &n }
	for name, test := range map[string]struct {
		spec     v1alpha1.AgentConfigurationSpec
		want     poll.Settings
		problems int
	}{
		"nothing":     {},
		"all":         {v1alpha1.AgentConfigurationSpec{ServicePollInterval: text("90s"), ClusterPingInterval: text("1h"), MaxConcurrentReconciles: number(100)}, poll.Settings{Interval: 90 * time.Second, Whole: time.Hour, Passes: 100}, 0},
		"empty":       {v1alpha1.AgentConfigurationSpec{ServicePollInterval: text("")}, poll.Settings{}, 0},
		"no duration": {v1alpha1.AgentConfigurationSpec{ServicePollInterval: text("often"), MaxConcurrentReconciles: number(3)}, poll.Settings{Passes: 3}, 1},
		"too short":   {v1alpha1.AgentConfigurationSpec{ClusterPingInterval: text("9s")}, poll.Settings{}, 1},
		"too many":    {v1alpha1.AgentConfigurationSpec{MaxConcurrentReconciles: number(101)}, poll.Settings{}, 1},
		"none":        {v1alpha1.AgentConfigurationSpec{MaxConcurrentReconciles: number(0)}, poll.Settings{}, 1},
	} {
		got, problems := settingsOf(test.spec)
		if diff := cmp.Diff(test.want, got); diff != "" || len(problems) != test.problems {
			t.Errorf("%s: %v, -want +got\n%s", name, problems, diff)
		}
	}
	yes := true
	idle := notActing(v1alpha1.AgentConfigurationSpec{PollImmediately: &yes, BaseRegistryURL: text("r"), ServicePollInterval: text("1m")})
	if diff := cmp.Diff([]string{"baseRegistryURL", "pollImmediately"}, idle); diff != "" {
		t.Error(diff)
	}
}

package ownership_test

import (
	"testing"

	"github.com/axle-cd/axle/api/kinds"
	"github.com/axle-cd/axle/operator/ownership"
)

// The defaults of docs/adr/0079, row by row.
var defaults = map[string]ownership.Default{
	"Project": "adopt", "Catalog": "adopt", "GitRepository": "adopt", "NotificationSink": "adopt", "ServiceAccount": "adopt", "PrAutomation": "adopt",
	"ServiceContext": "adopt", "Repository": "adopt",
	"ClusterRestore": "read-only", "CloudConnection": "read-only", "NamespacedCloudConnection": "read-only", "Group": "read-only", "ManagedNamespace": "read-only",
	"NamespaceCredentials": "read-only", "ObservabilityProvider": "read-only", "ScmConnection": "read-only",
	"CustomCompatibilityMatrix": "upsert", "Flow": "upsert", "GlobalService": "upsert", "HelmRepository": "upsert", "InfrastructureStack": "upsert", "MCPServer": "upsert",
	"NotificationRouter": "upsert", "Observer": "upsert", "OIDCProvider": "upsert", "PreviewEnvironmentTemplate": "upsert", "PrGovernance": "upsert",
	"ServiceDeployment": "upsert", "UpgradePlanCallout": "upsert",
	"BootstrapToken": "create-only", "ComplianceReportGenerator": "create-only", "CustomStackRun": "create-only", "DeploymentSettings": "create-only",
	"FederatedCredential": "create-only", "Persona": "create-only", "Pipeline": "create-only", "PipelineContext": "create-only", "PrAutomationTrigger": "create-only",
	"Sentinel": "create-only", "StackDefinition": "create-only",
	"Cluster": "reference", "Provider": "reference",
}

func TestEveryKindHasTheDefaultOfTheDecision(t *testing.T) {
	seen := 0
	for _, k := range kinds.All {
		want, named := defaults[k.Name]
		if k.Group == kinds.Axle && !named {
			want, named = ownership.ReadOnly, true
		}
		have, ok := ownership.Of(k.Group, k.Name)
		if have != want || ok != named {
			t.Errorf("%s/%s: %q, want %q", k.Group, k.Name, have, want)
		}
		if _, listed := defaults[k.Name]; listed {
			seen++
		}
	}
	if seen != len(defaults) {
		t.Errorf("%d kinds of the decision are kinds of ours, want all %d", seen, len(defaults))
	}
	if _, ok := ownership.Of("example.com", "Project"); ok {
		t.Error("a kind of another group has a default")
	}
}

func TestDecide(t *testing.T) {
	const exists, owned, drift, adopt, foreign, makes = 1, 2, 4, 8, 16, 32
	for _, c := range []struct {
		d    ownership.Default
		s    int
		want ownership.Action
	}{
		{ownership.Adopt, 0, ownership.Create},
		{ownership.Adopt, owned, ownership.Create},
		{ownership.Adopt, exists | drift, ownership.TakeOver},
		{ownership.Adopt, exists, ownership.Show},
		{ownership.Adopt, exists | adopt, ownership.TakeOver},
		{ownership.Adopt, exists | owned, ownership.Write},
		{ownership.Adopt, exists | foreign | drift, ownership.Show},
		{ownership.Adopt, exists | foreign | adopt, ownership.TakeOver},
		{ownership.ReadOnly, 0, ownership.Create},
		{ownership.ReadOnly, exists | drift, ownership.Show},
		{ownership.ReadOnly, exists | owned, ownership.Write},
		{ownership.ReadOnly, exists | adopt, ownership.TakeOver},
		{ownership.Upsert, 0, ownership.Create},
		{ownership.Upsert, exists, ownership.TakeOver},
		{ownership.Upsert, exists | owned, ownership.Write},
		{ownership.Upsert, exists | foreign, ownership.Show},
		{ownership.Upsert, exists | foreign | adopt, ownership.TakeOver},
		{ownership.CreateOnly, 0, ownership.Create},
		{ownership.CreateOnly, exists | drift, ownership.Refuse},
		{ownership.CreateOnly, exists | adopt, ownership.TakeOver},
		{ownership.CreateOnly, exists | owned, ownership.Write},
		{ownership.CreateOnly, exists | foreign, ownership.Refuse},
		{ownership.Reference, 0, ownership.Missing},
		{ownership.Reference, owned, ownership.Missing},
		{ownership.Reference, makes, ownership.Create},
		{ownership.Reference, exists | makes, ownership.TakeOver},
		{ownership.Reference, exists, ownership.TakeOver},
		{ownership.Reference, exists | owned, ownership.Write},
	} {
		s := ownership.State{Exists: c.s&exists != 0, Owned: c.s&owned != 0, DriftDetection: c.s&drift != 0, Adopt: c.s&adopt != 0, Foreign: c.s&foreign != 0, Makes: c.s&makes != 0}
		if have := ownership.Decide(c.d, s); have != c.want {
			t.Errorf("%s, %+v: %s, want %s", c.d, s, have, c.want)
		}
	}
}

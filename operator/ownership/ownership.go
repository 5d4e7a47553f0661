// Package ownership decides what the operator does with an object of the hub that a
// custom resource (CR) names: create it, write it, show it or leave it alone. It has
// the defaults of each kind (docs/adr/0079) and one function over them. It makes no
// calls; operator/controller reads the state and acts on the answer.
//
// A CR owns an object if the hub names it as the manager. Without a manager, it owns
// what it wrote before: it has our finalizer, or a status.id that it did not get as a
// reader. This is State.Owned.
package ownership

import (
	"github.com/axle-cd/axle/api/kinds"
	"github.com/axle-cd/axle/api/object"
)

// Default says what happens to an object that exists and that the CR does not own.
type Default string

const (
	// Adopt takes it over if the CR detects drift, and is ReadOnly otherwise.
	Adopt Default = "adopt"
	// ReadOnly shows it in the CR's status, and never writes or deletes it.
	ReadOnly Default = "read-only"
	// Upsert takes it over.
	Upsert Default = "upsert"
	// CreateOnly refuses it: such a kind only creates.
	CreateOnly Default = "create-only"
	// Reference takes it over, and never creates or deletes one, unless the CR declares how
	// it is made.
	Reference Default = "reference"
)

// defaults has the kinds of kinds.Deployments that the operator acts on, or will, beside
// those whose description has one.
var defaults = map[Default][]string{
	Adopt:    {"Project", "Catalog", "GitRepository", "ServiceAccount", "PrAutomation", "ServiceContext"},
	ReadOnly: {"ClusterRestore", "CloudConnection", "NamespacedCloudConnection", "Group", "ManagedNamespace", "NamespaceCredentials", "ObservabilityProvider", "ScmConnection"},
	Upsert: {"Flow", "GlobalService", "HelmRepository", "InfrastructureStack", "MCPServer", "Observer", "OIDCProvider",
		"PreviewEnvironmentTemplate", "PrGovernance", "ServiceDeployment", "UpgradePlanCallout"},
	CreateOnly: {"BootstrapToken", "ComplianceReportGenerator", "CustomStackRun", "DeploymentSettings", "FederatedCredential", "Persona", "Pipeline", "PipelineContext",
		"PrAutomationTrigger", "Sentinel", "StackDefinition"},
	Reference: {"Cluster", "Provider"},
}

// Of returns the default of a kind, and whether it has one.
func Of(group, kind string) (Default, bool) {
	if group == kinds.Axle {
		if _, exists := kinds.Of(group, kind); !exists {
			return "", false
		}
		if kind == "Repository" {
			return Adopt, true
		}
		return ReadOnly, true
	}
	if group != kinds.Deployments {
		return "", false
	}
	if k, _ := object.Named(kind); k.Adopts != "" {
		return Default(k.Adopts), true
	}
	for d, names := range defaults {
		for _, name := range names {
			if name == kind {
				return d, true
			}
		}
	}
	return "", false
}

// State is what is known about a CR and the object that it names.
type State struct {
	// Exists: the hub has the object.
	Exists bool
	// Makes: the CR declares how the object is made.
	Makes bool
	// Owned: it is the CR's.
	Owned bool
	// Foreign: another declarative manager has it, such as Terraform or another CR.
	Foreign bool
	// DriftDetection is reconciliation.driftDetection of the CR; the default is true.
	DriftDetection bool
	// Adopt: the CR asks to take it over, with the annotation AdoptAnnotation.
	Adopt bool
}

// AdoptAnnotation with the value "true" takes over the object, whatever the default.
const AdoptAnnotation = kinds.Axle + "/adopt"

// Action is what the operator does.
type Action string

const (
	// Create makes the object.
	Create Action = "create"
	// Write changes an object that is the CR's already.
	Write Action = "write"
	// TakeOver changes an object that is the CR's from now on.
	TakeOver Action = "take over"
	// Show fills the CR's status and writes nothing.
	Show Action = "show"
	// Refuse is an error: the object exists and the kind only creates.
	Refuse Action = "refuse"
	// Missing: the object must exist, and does not.
	Missing Action = "missing"
)

// Decide returns what to do.
func Decide(d Default, s State) Action {
	switch {
	case !s.Exists && d == Reference && !s.Makes:
		return Missing
	case !s.Exists:
		return Create
	case s.Owned:
		return Write
	case s.Adopt:
		return TakeOver
	case !s.Foreign && (d == Upsert || d == Reference || d == Adopt && s.DriftDetection):
		return TakeOver
	case d == CreateOnly:
		return Refuse
	}
	return Show
}

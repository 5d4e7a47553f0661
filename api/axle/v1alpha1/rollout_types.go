package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/axle-cd/axle/api/v1alpha1"
)

// RolloutPolicy says how changes of global services and managed namespaces
// roll out: in waves of clusters, each of which must be healthy before the
// next one starts. Without a policy, all clusters get a change at once.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle-all,shortName=axroll
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.spec.state`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Supported",type=string,JSONPath=`.status.conditions[?(@.type=="Supported")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type RolloutPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec RolloutPolicySpec `json:"spec"`
	// +kubebuilder:default={conditions: {{type: "Supported", status: "False", reason: "NotImplemented", message: "No plan changes: the operator does not read this kind yet. Use spec.rollout of a GlobalService.", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	Status v1alpha1.Status `json:"status,omitempty"`
}

// RolloutPolicySpec holds the waves, the gate between them, and the state of
// the rollout.
type RolloutPolicySpec struct {
	WavePolicy `json:",inline"`
	// TargetRefs are GlobalServices and ManagedNamespaces in the policy's
	// namespace. Without any, the policy applies to all in the namespace that no
	// other policy names.
	// +kubebuilder:validation:MaxItems=64
	TargetRefs []RolloutTarget `json:"targetRefs,omitempty"`
	// Gate says when a wave has failed.
	Gate *RolloutGate `json:"gate,omitempty"`
}

// WavePolicy says how a change rolls out. The clusters of each wave are fixed
// when it starts.
type WavePolicy struct {
	// Waves, each a number of clusters or a percentage such as 10%, cumulative.
	// Unset is one wave for services, and 1, 1%, 10%, 100% for agents.
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:Pattern=`^[0-9]+%?$`
	Waves []string `json:"waves,omitempty"`
	// MaxUnavailable is how many clusters may change at once, a number or a
	// percentage; unset means the whole wave.
	// +kubebuilder:validation:Pattern=`^[0-9]+%?$`
	MaxUnavailable *string `json:"maxUnavailable,omitempty"`
	// Soak is how long a wave must be healthy before the next one starts, a Go
	// duration; unset is 15m.
	Soak *string `json:"soak,omitempty"`
	// State of the rollout: Paused starts no further cluster, Aborted returns to
	// the previous version.
	// +kubebuilder:validation:Enum=Running;Paused;Aborted
	// +kubebuilder:default=Running
	State *string `json:"state,omitempty"`
}

// RolloutTarget is an object that the policy applies to.
type RolloutTarget struct {
	// Kind of the object.
	// +kubebuilder:validation:Enum=GlobalService;ManagedNamespace
	Kind string `json:"kind"`
	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
}

// RolloutGate says when a wave has failed. A failed wave stops the rollout.
type RolloutGate struct {
	// MaxFailed is the percentage of a wave's clusters that may fail.
	// +kubebuilder:validation:Pattern=`^[0-9]+%$`
	// +kubebuilder:default="5%"
	MaxFailed *string `json:"maxFailed,omitempty"`
	// FailAfter is how long a cluster may take to become healthy, a Go duration.
	// +kubebuilder:default="10m"
	FailAfter *string `json:"failAfter,omitempty"`
}

// AgentUpgrade upgrades the agents of all clusters in waves. The object must
// be named default.
//
// +kubebuilder:validation:XValidation:rule="self.metadata.name == 'default'",message="the upgrade of the agents is the object named default"
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle;axle-all,shortName=axau
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.spec.version`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.rollout.phase`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type AgentUpgrade struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   AgentUpgradeSpec   `json:"spec"`
	Status AgentUpgradeStatus `json:"status,omitempty"`
}

// AgentUpgradeSpec says which version agents get, and how.
type AgentUpgradeSpec struct {
	WavePolicy `json:",inline"`
	// Version of the agents; unset is the hub's own.
	Version *string `json:"version,omitempty"`
	// Image of the agent; unset keeps each agent's registry and uses the version
	// as the tag.
	Image *string `json:"image,omitempty"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *v1alpha1.Reconciliation `json:"reconciliation,omitempty"`
}

// AgentUpgradeStatus is the progress of the upgrade.
type AgentUpgradeStatus struct {
	v1alpha1.Status `json:",inline"`
	// Previous version, which an abort returns to.
	Previous string `json:"previous,omitempty"`
	// Rollout is the progress of the upgrade.
	Rollout *v1alpha1.RolloutStatus `json:"rollout,omitempty"`
}

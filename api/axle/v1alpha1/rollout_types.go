package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/axle-cd/axle/api/v1alpha1"
)

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

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// LogTail is the end of the logs of a workload that an application brings along, in its own
// namespace.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle;axle-all,shortName=axlt
// +kubebuilder:printcolumn:name="Target",type=string,JSONPath=`.spec.target`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type LogTail struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec LogTailSpec `json:"spec"`
}

// LogTailSpec says which logs.
type LogTailSpec struct {
	// Name is the title. The name of the object if it is empty.
	// +kubebuilder:validation:MaxLength=200
	Name string `json:"name,omitempty"`
	// Target is the kind and the name of a workload, such as deployment/web.
	// +kubebuilder:validation:Pattern=`^[A-Za-z]+/[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`
	// +kubebuilder:validation:MaxLength=300
	Target string `json:"target"`
	// Container is the only one that is read. All if it is empty.
	// +kubebuilder:validation:MaxLength=63
	Container string `json:"container,omitempty"`
	// Limit is how many lines of each container are shown at first. 100 if it is 0.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=50000
	Limit int64 `json:"limit,omitempty"`
	// Follow goes on with what the containers write.
	Follow bool `json:"follow,omitempty"`
}

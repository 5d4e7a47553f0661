package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GitRepository registers a Git upstream with the hub under the object's name.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=`.spec.url`
// +kubebuilder:printcolumn:name="Health",type=string,JSONPath=`.status.health`
type GitRepository struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec GitRepositorySpec `json:"spec"`
	// +optional
	Status GitRepositoryStatus `json:"status,omitempty"`
}

// GitRepositorySpec says where the upstream is and how to authenticate.
type GitRepositorySpec struct {
	// URL of the upstream, https or ssh. It cannot be changed.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="url cannot be changed: create another repository"
	URL string `json:"url"`
	// ConnectionRef is an ScmConnection whose credentials are used. Does not
	// act yet.
	// +optional
	ConnectionRef *ObjectReference `json:"connectionRef,omitempty"`
	// CredentialsRef is a Secret with the required ones of the keys username,
	// password, privateKey and passphrase.
	// +optional
	CredentialsRef *corev1.SecretReference `json:"credentialsRef,omitempty"`
	// +optional
	Reconciliation *Reconciliation `json:"reconciliation,omitempty"`
}

// GitRepositoryStatus is the state of the upstream in the hub.
type GitRepositoryStatus struct {
	Status `json:",inline"`
	// Health is PULLABLE or FAILED.
	// +optional
	Health string `json:"health,omitempty"`
	// Message is upstream's error when Health is FAILED.
	// +optional
	Message *string `json:"message,omitempty"`
}

// GitRepositoryList is a list of GitRepository.
//
// +kubebuilder:object:root=true
type GitRepositoryList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []GitRepository `json:"items"`
}

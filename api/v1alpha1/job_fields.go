package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// JobSpec describes a Job: either some containers, or a complete Job spec in
// raw.
type JobSpec struct {
	// Namespace of the Job.
	Namespace string `json:"namespace"`
	// Containers of its pod.
	Containers []JobContainer `json:"containers,omitempty"`
	// Labels of the Job.
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations of the Job.
	Annotations map[string]string `json:"annotations,omitempty"`
	// NodeSelector of its pod.
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// Tolerations of its pod.
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// ServiceAccount of its pod.
	ServiceAccount *string `json:"serviceAccount,omitempty"`
	// Resources of containers that set none.
	Resources *JobResources `json:"resources,omitempty"`
	// Raw is a batch/v1 JobSpec, instead of the other fields.
	// +kubebuilder:pruning:PreserveUnknownFields
	Raw *runtime.RawExtension `json:"raw,omitempty"`
}

// JobContainer is one container of a Job.
type JobContainer struct {
	// Name of the container.
	Name *string `json:"name,omitempty"`
	// Image of the container.
	Image string `json:"image"`
	// Args of the container.
	Args []string `json:"args,omitempty"`
	// Env are environment variables.
	Env []JobEnv `json:"env,omitempty"`
	// EnvFrom are objects whose keys become environment variables.
	EnvFrom []JobEnvFrom `json:"envFrom,omitempty"`
	// Resources of the container.
	Resources *JobResources `json:"resources,omitempty"`
}

// JobEnv is an environment variable.
type JobEnv struct {
	// Name of the variable.
	Name string `json:"name"`
	// Value of the variable.
	Value string `json:"value"`
}

// JobEnvFrom is an object whose keys become environment variables.
type JobEnvFrom struct {
	// Secret is the name of a Secret.
	Secret string `json:"secret,omitempty"`
	// ConfigMap is the name of a ConfigMap.
	ConfigMap string `json:"configMap,omitempty"`
}

// JobResources are a container's resources.
type JobResources struct {
	// Requests of the container.
	Requests *JobAmounts `json:"requests,omitempty"`
	// Limits of the container.
	Limits *JobAmounts `json:"limits,omitempty"`
}

// JobAmounts are quantities such as 500m and 1Gi.
type JobAmounts struct {
	// CPU in cores.
	CPU *string `json:"cpu,omitempty"`
	// Memory in bytes.
	Memory *string `json:"memory,omitempty"`
}

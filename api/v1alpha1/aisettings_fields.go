package v1alpha1

// AISettings configure the use of AI models.
type AISettings struct {
	// Enabled turns it on.
	// +kubebuilder:default=false
	Enabled *bool `json:"enabled,omitempty"`
	// AnalysisRates say how often models analyse objects.
	AnalysisRates *AIAnalysisRates `json:"analysisRates,omitempty"`
	// Tools that models may use.
	Tools *AITools `json:"tools,omitempty"`
	// Provider of models for general use.
	// +kubebuilder:validation:Enum=OPENAI;OPENAI_COMPATIBLE;XAI;ANTHROPIC;OLLAMA;AZURE;BEDROCK;VERTEX
	// +kubebuilder:default=OPENAI
	Provider *string `json:"provider,omitempty"`
	// ToolProvider is the provider of models that call tools.
	// +kubebuilder:validation:Enum=OPENAI;OPENAI_COMPATIBLE;XAI;ANTHROPIC;OLLAMA;AZURE;BEDROCK;VERTEX
	ToolProvider *string `json:"toolProvider,omitempty"`
	// EmbeddingProvider is the provider of embedding models.
	// +kubebuilder:validation:Enum=OPENAI;OPENAI_COMPATIBLE;XAI;ANTHROPIC;OLLAMA;AZURE;BEDROCK;VERTEX
	EmbeddingProvider *string `json:"embeddingProvider,omitempty"`
	// Streaming streams the answers of models.
	// +kubebuilder:default=true
	Streaming *bool `json:"streaming,omitempty"`
	// LogAnalysis lets models read logs.
	LogAnalysis *bool `json:"logAnalysis,omitempty"`
	// OpenAI configures OpenAI.
	OpenAI *AIOpenAI `json:"openAI,omitempty"`
	// OpenAICompatible configures an API that is compatible with OpenAI.
	OpenAICompatible *AIOpenAI `json:"openAICompatible,omitempty"`
	// XAI configures xAI.
	XAI *AIOpenAI `json:"xai,omitempty"`
	// Anthropic configures Anthropic.
	Anthropic *AIAnthropic `json:"anthropic,omitempty"`
	// Ollama configures Ollama.
	Ollama *AIOllama `json:"ollama,omitempty"`
	// Azure configures OpenAI on Azure.
	Azure *AIAzure `json:"azure,omitempty"`
	// Bedrock configures Amazon Bedrock.
	Bedrock *AIBedrock `json:"bedrock,omitempty"`
	// Vertex configures Google Vertex AI.
	Vertex *AIVertex `json:"vertex,omitempty"`
	// Nexus configures a proxy for models.
	Nexus *AINexus `json:"nexus,omitempty"`
	// VectorStore stores embeddings.
	VectorStore *AIVectorStore `json:"vectorStore,omitempty"`
	// Graph stores knowledge about cloud resources.
	Graph *AIGraphStore `json:"graph,omitempty"`
}

// AIAnalysisRates say how often models analyse objects.
type AIAnalysisRates struct {
	// Fast is the interval for objects that changed, in seconds.
	Fast *string `json:"fast,omitempty"`
	// Slow is the interval for objects that did not change, in seconds.
	Slow *string `json:"slow,omitempty"`
}

// AITools are tools that models may use.
type AITools struct {
	// CreatePR lets models create pull requests.
	CreatePR *AICreatePR `json:"createPr,omitempty"`
}

// AICreatePR lets models create pull requests.
type AICreatePR struct {
	// ScmConnectionRef is the ScmConnection that creates them.
	ScmConnectionRef *ObjectReference `json:"scmConnectionRef,omitempty"`
}

// AIModels name the models of a provider.
type AIModels struct {
	// Model is the name of the model.
	Model *string `json:"model,omitempty"`
	// ToolModel is the model that calls tools.
	ToolModel *string `json:"toolModel,omitempty"`
	// EmbeddingModel is the model for embeddings.
	EmbeddingModel *string `json:"embeddingModel,omitempty"`
	// ProxyModels are additional models that clients may use through the hub.
	ProxyModels []string `json:"proxyModels,omitempty"`
}

// AIAnthropic is the API of a provider.
type AIAnthropic struct {
	AIModels `json:",inline"`
	// BaseURL of the API.
	BaseURL *string `json:"baseUrl,omitempty"`
	// TokenSecretRef is a Secret's key that holds the token.
	TokenSecretRef KeySelector `json:"tokenSecretRef"`
}

// AIOpenAI is OpenAI, or an API that is compatible with it.
type AIOpenAI struct {
	AIModels `json:",inline"`
	// BaseURL of the API.
	BaseURL *string `json:"baseUrl,omitempty"`
	// TokenSecretRef is a Secret's key that holds the token.
	TokenSecretRef *KeySelector `json:"tokenSecretRef,omitempty"`
	// TokenExchange gets the token from an OAuth 2 server.
	TokenExchange *AITokenExchange `json:"tokenExchange,omitempty"`
	// Headers of each request.
	Headers []AIHeader `json:"headers,omitempty"`
	// Method of the API that is called.
	// +kubebuilder:validation:Enum=CHAT;RESPONSES;AUTO
	Method *string `json:"method,omitempty"`
}

// AITokenExchange gets a token from an OAuth 2 server.
type AITokenExchange struct {
	// Enabled turns it on.
	Enabled *bool `json:"enabled,omitempty"`
	// TokenURL of the server.
	TokenURL *string `json:"tokenUrl,omitempty"`
	// ClientID to log in with.
	ClientID *string `json:"clientId,omitempty"`
	// ClientSecretSecretRef is a Secret's key that holds its secret.
	ClientSecretSecretRef *KeySelector `json:"clientSecretSecretRef,omitempty"`
}

// AIHeader is a request header.
type AIHeader struct {
	// Name of the header.
	Name string `json:"name"`
	// Value of the header.
	Value string `json:"value"`
}

// AIOllama configures Ollama.
type AIOllama struct {
	// URL of its API.
	URL string `json:"url"`
	// Model is the name of the model.
	Model string `json:"model"`
	// ToolModel is the model that calls tools.
	ToolModel *string `json:"toolModel,omitempty"`
	// TokenSecretRef is a Secret's key that holds the Authorization header.
	TokenSecretRef *KeySelector `json:"tokenSecretRef,omitempty"`
}

// AIAzure configures OpenAI on Azure.
type AIAzure struct {
	AIModels `json:",inline"`
	// Endpoint of the API.
	Endpoint string `json:"endpoint"`
	// APIVersion of the API.
	APIVersion *string `json:"apiVersion,omitempty"`
	// Deployments by model.
	Deployments map[string]string `json:"deployments,omitempty"`
	// TokenSecretRef is a Secret's key that holds the token.
	TokenSecretRef KeySelector `json:"tokenSecretRef"`
}

// AIBedrock configures Amazon Bedrock.
type AIBedrock struct {
	// ModelID of the model or inference profile.
	ModelID *string `json:"modelId,omitempty"`
	// ToolModelID of the model that calls tools.
	ToolModelID *string `json:"toolModelId,omitempty"`
	// EmbeddingModel is the model for embeddings.
	EmbeddingModel *string `json:"embeddingModel,omitempty"`
	// ProxyModels are additional models that clients may use through the hub.
	ProxyModels []string `json:"proxyModels,omitempty"`
	// Region of the models.
	Region string `json:"region"`
	// TokenSecretRef is a Secret's key that holds the token.
	TokenSecretRef *KeySelector `json:"tokenSecretRef,omitempty"`
	// AWSAccessKeyID is the ID of an access key.
	AWSAccessKeyID *string `json:"awsAccessKeyId,omitempty"`
	// AWSSecretAccessKeyRef is a Secret's key that holds the secret access key.
	AWSSecretAccessKeyRef *KeySelector `json:"awsSecretAccessKeyRef,omitempty"`
	// Deployments by model; deprecated.
	Deployments map[string]string `json:"deployments,omitempty"`
}

// AIVertex configures Google Vertex AI.
type AIVertex struct {
	AIModels `json:",inline"`
	// Project of the models.
	Project string `json:"project"`
	// Location of the models.
	Location string `json:"location"`
	// Endpoint of self-hosted models.
	Endpoint *string `json:"endpoint,omitempty"`
	// ServiceAccountJSONSecretRef is a Secret's key that holds a service
	// account's JSON.
	ServiceAccountJSONSecretRef *KeySelector `json:"serviceAccountJsonSecretRef,omitempty"`
}

// AINexus configures a proxy for models.
type AINexus struct {
	// URL of the proxy.
	URL string `json:"url"`
	// Model is the name of the model.
	Model *string `json:"model,omitempty"`
	// ToolModel is the model that calls tools.
	ToolModel *string `json:"toolModel,omitempty"`
	// EmbeddingModel is the model for embeddings.
	EmbeddingModel *string `json:"embeddingModel,omitempty"`
	// TokenSecretRef is a Secret's key that holds the token.
	TokenSecretRef *KeySelector `json:"tokenSecretRef,omitempty"`
}

// AIVectorStore stores embeddings.
type AIVectorStore struct {
	// Enabled turns it on.
	// +kubebuilder:default=false
	Enabled *bool `json:"enabled,omitempty"`
	// VectorStore selects the store.
	// +kubebuilder:validation:Enum=ELASTIC;OPENSEARCH;POSTGRES
	VectorStore *string `json:"vectorStore,omitempty"`
	// Elastic configures Elasticsearch.
	Elastic *AIElastic `json:"elastic,omitempty"`
	// Opensearch configures OpenSearch.
	Opensearch *AIOpensearch `json:"opensearch,omitempty"`
}

// AIGraphStore stores knowledge about cloud resources.
type AIGraphStore struct {
	// Enabled turns it on.
	// +kubebuilder:default=false
	Enabled *bool `json:"enabled,omitempty"`
	// Store selects the store.
	// +kubebuilder:validation:Enum=ELASTIC
	Store *string `json:"store,omitempty"`
	// Elastic configures Elasticsearch.
	Elastic *AIElastic `json:"elastic,omitempty"`
}

// AIElastic is an Elasticsearch index.
type AIElastic struct {
	// Host is the URL of Elasticsearch.
	Host string `json:"host"`
	// Index is the name of the index.
	Index string `json:"index"`
	// User to log in with.
	User *string `json:"user,omitempty"`
	// PasswordSecretRef is a Secret's key that holds the password.
	PasswordSecretRef *KeySelector `json:"passwordSecretRef,omitempty"`
}

// AIOpensearch is an OpenSearch index.
type AIOpensearch struct {
	// Host is the URL of OpenSearch.
	Host string `json:"host"`
	// Index is the name of the index.
	Index string `json:"index"`
	// AWSAccessKeyID is the ID of an access key; unset is the pod's role.
	AWSAccessKeyID *string `json:"awsAccessKeyId,omitempty"`
	// AWSSecretAccessKeyRef is a Secret's key that holds the secret access key.
	AWSSecretAccessKeyRef *KeySelector `json:"awsSecretAccessKeyRef,omitempty"`
	// AWSRegion of the cluster of OpenSearch.
	AWSRegion *string `json:"awsRegion,omitempty"`
}

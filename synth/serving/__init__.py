"""What the MCP server offers, apart from how it is served: tools for skills and for learning, resources, prompts."""

<?php

declare(strict_types=1);

namespace Social;

require_once 'Twig/autoload.php';

use Twig\Environment;
use Twig\Loader\FilesystemLoader;

/** Pages, by Twig's templates. Templates escape their output. */
final class View
{
    private readonly Environment $twig;

    /** @param string $compiled the folder of the templates in PHP, which `bin/setup.php` fills */
    public function __construct(string $compiled)
    {
        $this->twig = new Environment(new FilesystemLoader(dirname(__DIR__) . '/templates'), [
            'cache' => $compiled,
            'auto_reload' => false,
            'strict_variables' => true,
            'autoescape' => 'html',
        ]);
    }

    /** @param array<string, mixed> $values */
    public function render(string $template, array $values): string
    {
        return $this->twig->render("$template.twig", $values);
    }

    /** Turns all templates into PHP. */
    public function compileAll(): void
    {
        foreach (glob(dirname(__DIR__) . '/templates/*.twig') ?: [] as $file) {
            $this->twig->load(basename($file));
        }
    }
}
